"""What a whole reported record discloses when the joint distribution is known only from reports."""

from tacit.privacy.disclosure.assessment import MIN_RECORDS, Assessed, Assessment, assess

__all__ = ["MIN_RECORDS", "Assessed", "Assessment", "assess"]
