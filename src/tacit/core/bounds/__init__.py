"""Upper bounds on what reports disclose that need the design alone: no data, no dependence."""

from tacit.core.bounds.any_dependence import Bound, DesignReports, bound_of, is_undisguised

__all__ = ["Bound", "DesignReports", "bound_of", "is_undisguised"]
