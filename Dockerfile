# One image for web, job and demo: which one a container is, its command says.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 millrace \
    && install -d -o millrace -g millrace /millrace /millrace-var

USER millrace
WORKDIR /millrace
ENV PYTHONUNBUFFERED=1 \
    MILLRACE_VAR=/millrace-var \
    MILLRACE_JARS=/millrace/jars

# Packages first: they change less often than the code.
COPY --chown=millrace pyproject.toml uv.lock ./
RUN python -m venv .venv \
    && .venv/bin/pip install --no-cache-dir --disable-pip-version-check uv==0.13.7 \
    && .venv/bin/uv sync --frozen --inexact --compile-bytecode --no-cache

COPY --chown=millrace . .
# The front-end files and jars become part of the image; /millrace-var is a volume and stays empty.
RUN MILLRACE_VAR=/tmp/var .venv/bin/python manage.py setup --only files \
    && rm -rf /tmp/var

VOLUME /millrace-var
EXPOSE 8000
ENTRYPOINT [".venv/bin/python", "manage.py"]
CMD ["serve", "--host", "0.0.0.0"]
