"""Adult: census records, the common test bed of the literature that tacit implements."""

from __future__ import annotations

from tacit.core import frames
from tacit.core.arrays import Codes
from tacit.core.binning import quantiles
from tacit.core.label_codes import encode
from tacit.core.schema import Attribute, Schema
from tacit.datasets.uci_tables import load_adult

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
    schema = Schema(
        Attribute(name, NOMINAL[name].split())
        if name in NOMINAL
        else quantiles(bins)(name, frames.numbers(adult[name]))
        for name in adult.column_names
    )
    return encode(adult, schema), schema
