"""What all tests share: hypothesis tries the same examples every time, and leaves nothing behind."""

from hypothesis import settings

settings.register_profile("everlearn", deadline=None, derandomize=True, database=None)
settings.load_profile("everlearn")
