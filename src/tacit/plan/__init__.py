"""Plans of a survey: respondents, widths of intervals, power, privacy; solve for any one.

plan(related(0.7), width=0.03, prevalence=0.2)    how many respondents?
tradeoff(["related", "optimal"], n=1000)          privacy against precision
"""

from tacit.plan.planner import plan
from tacit.plan.survey_plan import QuestionPlan, SurveyPlan
from tacit.plan.tradeoff import Tradeoff, tradeoff

__all__ = ["QuestionPlan", "SurveyPlan", "Tradeoff", "plan", "tradeoff"]
