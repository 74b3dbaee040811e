"""Models learnt from reported records: classifiers, clusters, a joint distribution, rules.

Names are imported when they are first used, so `tacit.mine.tree` does not load the miners.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.mine.apriori import itemsets as itemsets
    from tacit.mine.chow_liu_tree import ChowLiuTree as ChowLiuTree
    from tacit.mine.decision_tree import DecisionTree as DecisionTree
    from tacit.mine.error_control import FalseDiscovery as FalseDiscovery
    from tacit.mine.error_control import FamilyWise as FamilyWise
    from tacit.mine.error_control import PlainThreshold as PlainThreshold
    from tacit.mine.forest import Forest as Forest
    from tacit.mine.itemset_rules import association_rules as association_rules
    from tacit.mine.latent_class import LatentClass as LatentClass
    from tacit.mine.miner import split_records as split_records
    from tacit.mine.model_json import model_from_json as model_from_json
    from tacit.mine.model_json import model_to_json as model_to_json
    from tacit.mine.naive_bayes import NaiveBayes as NaiveBayes
    from tacit.mine.pruned_trees import choose_depth as choose_depth
    from tacit.mine.pruned_trees import cost_complexity as cost_complexity
    from tacit.mine.pruned_trees import cost_complexity_path as cost_complexity_path
    from tacit.mine.pruned_trees import reduced_error as reduced_error
    from tacit.models.naive_bayes import likelihood as likelihood
    from tacit.models.naive_bayes import literal as literal
    from tacit.models.naive_bayes import pairs as pairs

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tacit.mine.itemset_rules": "association_rules",
        "tacit.models.naive_bayes": "likelihood literal pairs",
        "tacit.mine.chow_liu_tree": "ChowLiuTree",
        "tacit.mine.decision_tree": "DecisionTree",
        "tacit.mine.error_control": "FalseDiscovery FamilyWise PlainThreshold",
        "tacit.mine.forest": "Forest",
        "tacit.mine.apriori": "itemsets",
        "tacit.mine.latent_class": "LatentClass",
        "tacit.mine.model_json": "model_from_json model_to_json",
        "tacit.mine.naive_bayes": "NaiveBayes",
        "tacit.mine.pruned_trees": (
            "choose_depth cost_complexity cost_complexity_path reduced_error"
        ),
        "tacit.mine.miner": "split_records",
    },
)
