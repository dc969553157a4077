"""`python -m hammingbox` is the command line."""

from hammingbox.cli import main

if __name__ == "__main__":
    main()
