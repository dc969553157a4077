"""Models as colleagues leave them: trained on the raw table with each library's own tools, saved in its own file."""

import json
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.torch import save_file
from torch import nn

_MOST_ROWS = 20_000
"""Rows that a model is trained on at most: what is measured is the audit."""

_NET = '''"""A net with entity embeddings and numbers, as `--model net:model` opens it."""

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

import hammingbox as hb

HERE = Path(__file__).parent


class Net(nn.Module):
    """One embedding per column of categories, beside the numbers."""

    def __init__(self, sizes, numbers, classes):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(size, min(16, size)) for size in sizes)
        width = sum(min(16, size) for size in sizes) + numbers
        self.body = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, ids, numbers):
        return self.body(torch.cat([*(e(i) for e, i in zip(self.embeddings, ids.T)), numbers], 1))


def model(schema):
    said = json.loads((HERE / "net.json").read_text())
    codes = said["codes"]
    net = Net([len(known) + 1 for known in codes.values()], len(said["mean"]), len(schema.classes))
    net.load_state_dict(load_file(HERE / "net.safetensors"))
    mean, spread = (np.array(list(said[key].values())) for key in ("mean", "spread"))

    def scale(frame):
        return (np.asarray(frame, dtype=float) - mean) / spread

    return hb.victim(net, schema, categorical=list(codes), numeric=list(said["mean"]), codes=codes, scale=scale)
'''


def save_model(
    kind: str, train: pd.DataFrame, whole: pd.DataFrame, label: str, folder: Path, *, unused: Sequence[str] = ()
) -> str:
    """Trains a model on some rows of a table and saves it; what `--model` takes.

    The whole table says which categories there are, as the owner of a model knows them.
    """
    left_out = [label, *(name for name in unused if name in whole)]
    texts = [name for name in whole if name not in left_out and not pd.api.types.is_numeric_dtype(whole[name])]
    types = {name: pd.CategoricalDtype(sorted(whole[name].dropna().astype(str).unique())) for name in texts}
    rows = train.sample(min(_MOST_ROWS, len(train)), random_state=0)
    return MODELS[kind](rows.drop(columns=left_out), rows[label], types, folder)


Types = dict[str, pd.CategoricalDtype]


def _balanced(y: pd.Series) -> np.ndarray:
    """A weight for each row, such that all classes weigh the same."""
    return (len(y) / y.nunique() / y.map(y.value_counts())).to_numpy()


def _xgboost(x: pd.DataFrame, y: pd.Series, types: Types, folder: Path) -> str:
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=100, max_depth=6, enable_categorical=True, n_jobs=1)
    model.fit(x.astype(types), pd.Categorical(y).codes, sample_weight=_balanced(y)).save_model(folder / "model.ubj")
    return "model.ubj"


def _lightgbm(x: pd.DataFrame, y: pd.Series, types: Types, folder: Path) -> str:
    import lightgbm

    model = lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1).fit(
        x.astype(types), pd.Categorical(y).codes, sample_weight=_balanced(y)
    )
    model.booster_.save_model(folder / "model.txt")
    return "model.txt"


def _catboost(x: pd.DataFrame, y: pd.Series, types: Types, folder: Path) -> str:
    import catboost

    model = catboost.CatBoostClassifier(
        iterations=100,
        verbose=0,
        thread_count=1,
        cat_features=list(types),
        allow_writing_files=False,
        auto_class_weights="Balanced",
    )
    model.fit(x.fillna(dict.fromkeys(types, "")), y).save_model(str(folder / "model.cbm"))
    return "model.cbm"


def _sklearn(x: pd.DataFrame, y: pd.Series, types: Types, folder: Path) -> str:
    import skops.io
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in x if name not in types]
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), list(types)),
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
    )
    skops.io.dump(
        make_pipeline(prepare, LogisticRegression(max_iter=300, class_weight="balanced")).fit(x, y),
        folder / "model.skops",
    )
    return "model.skops"


def _torch(x: pd.DataFrame, y: pd.Series, types: Types, folder: Path) -> str:
    (folder / "net.py").write_text(_NET)
    spec = spec_from_file_location("net", folder / "net.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    scope = vars(module)
    numbers = [name for name in x if name not in types]
    codes = {name: {word: place for place, word in enumerate(kind.categories)} for name, kind in types.items()}
    mean, spread = x[numbers].mean(), x[numbers].std().clip(lower=1e-6)
    values = torch.tensor(((x[numbers] - mean) / spread).fillna(0).to_numpy(), dtype=torch.float32)
    ids = [x[n].astype(str).map(codes[n]).fillna(len(codes[n])).to_numpy(np.int64) for n in types]
    classes = pd.Categorical(y)
    torch.manual_seed(0)
    net = scope["Net"]([len(known) + 1 for known in codes.values()], len(numbers), len(classes.categories))
    inputs, labels = torch.from_numpy(np.stack(ids, 1)), torch.from_numpy(classes.codes.astype(np.int64))
    weights = torch.tensor(len(y) / len(classes.categories) / np.bincount(classes.codes), dtype=torch.float32)
    steps = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for _ in range(max(4, 400_000 // len(y) // 10)):
        for part in torch.randperm(len(y)).split(256):
            loss = nn.functional.cross_entropy(net(inputs[part], values[part]), labels[part], weights)
            steps.zero_grad()
            loss.backward()
            steps.step()
    save_file(net.state_dict(), folder / "net.safetensors")
    said = {"codes": codes, "mean": mean.to_dict(), "spread": spread.to_dict()}
    (folder / "net.json").write_text(json.dumps(said))
    return "net:model"


MODELS: dict[str, Callable[[pd.DataFrame, pd.Series, Types, Path], str]] = {
    "xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost, "sklearn": _sklearn, "torch": _torch,
}  # fmt: skip
