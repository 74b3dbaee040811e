"""Adult: the census records of UCI, the common test bed of the literature that tacit implements.

B. Becker and R. Kohavi (1996), UCI Machine Learning Repository, doi:10.24432/C5XW20, licence
CC BY 4.0. Changes are listed in `data/ATTRIBUTION.md`.
"""

from __future__ import annotations

from typing import Any

from tacit import frames
from tacit.arrays import Codes
from tacit.attribute import Attribute
from tacit.binning import quantiles
from tacit.datasets.stored import stored_table
from tacit.label_codes import encode
from tacit.schema import Schema

#: Categories in the order in which UCI's `adult.names` lists them; `?`, unknown, comes last.
#: Only income is reversed, so that code 1 is the sensitive answer.
NOMINAL = {
    "workclass": """Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov
        Without-pay Never-worked ?""",
    "education": """Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th
        7th-8th 12th Masters 1st-4th 10th Doctorate 5th-6th Preschool""",
    "marital-status": """Married-civ-spouse Divorced Never-married Separated Widowed
        Married-spouse-absent Married-AF-spouse""",
    "occupation": """Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty
        Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving
        Priv-house-serv Protective-serv Armed-Forces ?""",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": """United-States Cambodia England Puerto-Rico Canada Germany
        Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran Honduras Philippines
        Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador
        Taiwan Haiti Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador
        Trinadad&Tobago Peru Hong Holand-Netherlands ?""",
    "income": "<=50K >50K",
}


def load_adult() -> Any:
    """All 48,842 records as a PyArrow table: 14 attributes and income, `?` for unknown.

    In the order of the files, the 32,561 training records first; `adult.slice(0, 10_000)` are
    "the first 10,000 instances" of the papers.

    >>> adult = load_adult()
    >>> adult.num_rows, adult.column_names[-1]
    (48842, 'income')
    """
    return stored_table("adult")


def adult_native(bins: int = 5) -> tuple[Codes, Schema]:
    """Adult with its own categories, and its numeric attributes cut at their quantiles.

    All 14 attributes, the census weight fnlwgt among them, and income last. Nominal categories
    come in the order of UCI's `adult.names` (Schema.infer would sort them) with `?` last. Numeric
    attributes have up to `bins` categories; capital-gain and capital-loss, over nine tenths of
    them 0, keep two: none, and some.

    >>> codes, schema = adult_native()
    >>> codes.shape, schema["race"].categories[:2]
    ((48842, 15), ('White', 'Asian-Pac-Islander'))
    """
    adult = load_adult()
    schema = Schema([_attribute(adult[name], name, bins) for name in adult.column_names])
    return encode(adult, schema), schema


def _attribute(column: Any, name: str, bins: int) -> Attribute:
    if name in NOMINAL:
        return Attribute(name, NOMINAL[name].split())
    return quantiles(bins)(name, frames.numbers(column))
