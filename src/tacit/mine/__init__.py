"""Models learnt from reported records: classifiers, clusters, a joint distribution, rules.

Names are imported when they are first used, so `tacit.mine.tree` does not load the miners.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.mine.chow_liu_tree import ChowLiuTree
    from tacit.mine.decision_tree import DecisionTree
    from tacit.mine.error_control import FalseDiscovery, FamilyWise, PlainThreshold
    from tacit.mine.forest import Forest
    from tacit.mine.itemset_rules import association_rules
    from tacit.mine.itemset_search import itemsets
    from tacit.mine.latent_class import LatentClass
    from tacit.mine.miner import split_records
    from tacit.mine.model_json import model_from_json, model_to_json
    from tacit.mine.naive_bayes import NaiveBayes
    from tacit.mine.pruned_trees import (
        choose_depth,
        cost_complexity,
        cost_complexity_path,
        reduced_error,
    )
    from tacit.models.bayes_parameters import likelihood, literal, pairs

__all__ = [
    "ChowLiuTree",
    "DecisionTree",
    "FalseDiscovery",
    "FamilyWise",
    "Forest",
    "LatentClass",
    "NaiveBayes",
    "PlainThreshold",
    "association_rules",
    "choose_depth",
    "cost_complexity",
    "cost_complexity_path",
    "itemsets",
    "likelihood",
    "literal",
    "model_from_json",
    "model_to_json",
    "pairs",
    "reduced_error",
    "split_records",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.mine.itemset_rules": "association_rules",
        "tacit.models.bayes_parameters": "likelihood literal pairs",
        "tacit.mine.chow_liu_tree": "ChowLiuTree",
        "tacit.mine.decision_tree": "DecisionTree",
        "tacit.mine.error_control": "FalseDiscovery FamilyWise PlainThreshold",
        "tacit.mine.forest": "Forest",
        "tacit.mine.itemset_search": "itemsets",
        "tacit.mine.latent_class": "LatentClass",
        "tacit.mine.model_json": "model_from_json model_to_json",
        "tacit.mine.naive_bayes": "NaiveBayes",
        "tacit.mine.pruned_trees": (
            "choose_depth cost_complexity cost_complexity_path reduced_error"
        ),
        "tacit.mine.miner": "split_records",
    },
)
