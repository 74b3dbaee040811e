"""Models learnt from reported records: classifiers, clusters, a joint distribution, rules.

Names are imported when they are first used, so `tacit.mine.tree` does not load the miners.
"""

from typing import TYPE_CHECKING

from tacit.core.imports import lazy_names

if TYPE_CHECKING:
    from tacit.mine.apriori import *  # noqa: F403
    from tacit.mine.chow_liu_tree import *  # noqa: F403
    from tacit.mine.decision_tree import *  # noqa: F403
    from tacit.mine.error_control import *  # noqa: F403
    from tacit.mine.forest import *  # noqa: F403
    from tacit.mine.itemset_rules import *  # noqa: F403
    from tacit.mine.latent_class import *  # noqa: F403
    from tacit.mine.miner import *  # noqa: F403
    from tacit.mine.model_json import *  # noqa: F403
    from tacit.mine.naive_bayes import *  # noqa: F403
    from tacit.mine.pruned_trees import *  # noqa: F403
    from tacit.models.naive_bayes import *  # noqa: F403

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
