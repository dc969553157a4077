"""Adversarial robustness for categorical data: attacks, defences and honest scores under an L0 budget."""

__version__ = "0.1.0"
