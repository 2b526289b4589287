"""The parts that any web interface needs: access, forms, problems, limits, streams, jobs, language and
rendering.
"""
