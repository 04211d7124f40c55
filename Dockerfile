# posviz with its demo models inside; runs without a network.
#
#   docker build -t posviz .
#   docker run --rm -p 8501:8501 posviz
#
# PyTorch's default build for Linux carries several gigabytes of GPU libraries. Name an index
# that has its CPU builds and pip takes those instead:
#
#   docker build --build-arg PIP_EXTRA_INDEX_URL=https://… -t posviz .

FROM python:3.11-slim-bookworm AS build
# pip reads these two by itself; neither is kept in the image.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
WORKDIR /app
# The libraries come first: a change of posviz alone does not install them again.
COPY requirements.txt ./
RUN python3 -m venv /venv \
 && /venv/bin/python -m pip install --no-cache-dir --disable-pip-version-check -r requirements.txt
COPY . .
# The figure component's plotly.min.js is the wheel's own, so that no browser asks the network.
RUN mkdir -p static \
 && cp /venv/lib/python3*/site-packages/plotly/package_data/plotly.min.js static/ \
 && /venv/bin/python -m compileall -q app.py pages posviz

FROM python:3.11-slim-bookworm
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501
RUN useradd --create-home --uid 10001 posviz
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
# By number, so that a platform can tell that it is not root.
USER 10001
ENV HOME=/home/posviz
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s --retries=3 \
    CMD ["python", "docker/health.py"]
CMD ["streamlit", "run", "app.py"]
