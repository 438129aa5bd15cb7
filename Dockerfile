# Two stages: the wheel is built where there are tools, and runs where there are none but Git.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY gitfed gitfed
COPY kubesim kubesim
COPY examples examples
COPY interpreters interpreters
COPY deploy/image deploy/image
COPY schemas schemas
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels kubesim \
 && python -m build --wheel --outdir /wheels \
 && python -m venv /opt/gitfed \
 && /opt/gitfed/bin/pip install --no-cache-dir --require-hashes --requirement deploy/image/requirements.txt \
 && /opt/gitfed/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python:3.13-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git gpg openssh-client ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 65532 --create-home --home-dir /var/lib/gitfed --shell /usr/sbin/nologin gitfed
COPY --from=build /opt/gitfed /opt/gitfed
ENV PATH=/opt/gitfed/bin:$PATH PYTHONUNBUFFERED=1 GITFED_DATA_DIR=/var/lib/gitfed/data
USER 65532
VOLUME /var/lib/gitfed
ENTRYPOINT ["gitfed"]
CMD ["run", "--help"]
