from hypothesis import settings

# Examples are timed in wall time, which a busy machine stretches: properties have no deadline here.
settings.register_profile("optimizer", deadline=None, max_examples=60)
settings.load_profile("optimizer")
