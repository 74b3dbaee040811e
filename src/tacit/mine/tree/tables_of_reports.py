"""root_tables: the tables of the root, by the fastest way that the design allows."""

from __future__ import annotations

from tacit.mine.tree.cell_tables import CellTables
from tacit.mine.tree.node_tables import NodeTables
from tacit.mine.tree.reported_answers import CodedAnswers
from tacit.mine.tree.row_tables import RowTables
from tacit.mine.tree.tree_reports import TreeReports


def root_tables(reports: TreeReports) -> NodeTables:
    """The tables of the node without conditions.

    Cells need groups with few states. Rows are also faster for counted patterns of answers that are
    reported as they are: a pattern counts at one node of a level, and rows need no sorting.
    """
    counted = isinstance(reports.answers, CodedAnswers) and len(reports.shares) < reports.n_records
    if not reports.has_cells or (reports.exact and counted):
        return RowTables.root(reports)
    return CellTables.root(reports)
