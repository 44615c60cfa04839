# The proxy in a container. There are two images:
#
#     docker build -t starlark-mcp-proxy .                        # the binary alone, for servers with `url`
#     docker build --target full -t starlark-mcp-proxy:full .     # with Node.js and uv, for servers with `npx` and `uvx`
#
#     docker run -p 127.0.0.1:7331:7331 -v "$PWD":/etc/proxy:ro -e TOKEN starlark-mcp-proxy
#
# The config is /etc/proxy/proxy.yaml. It needs `auth.tokens` or `auth.issuers`, because the proxy listens on all addresses:
#
#     auth: { tokens: [{ token: "${TOKEN}", sub: me }] }
#
# Authorizations for servers and the cache are below /home/proxy. To keep them, add `-v proxy-home:/home/proxy`. With
# `--read-only`, add `--tmpfs /tmp --tmpfs /home/proxy:uid=1000`.

FROM rust:1.95-bookworm AS build
# The image's own toolchain, and not that of rust-toolchain.toml: it gets the target below. The image sets RUST_VERSION.
ENV RUSTUP_TOOLCHAIN=$RUST_VERSION
RUN apt-get update && apt-get install -y --no-install-recommends musl-tools \
    && rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /src
COPY . .
RUN target="$(uname -m)-unknown-linux-musl" \
    && cargo build --release --locked --bin proxy --target "$target" && .ci/notices \
    && install -D "target/$target/release/proxy" /image/usr/local/bin/proxy \
    && install -D -m 0644 -t /image/usr/share/doc/starlark-mcp-proxy LICENSE target/release/THIRD-PARTY-NOTICES.txt

# What the binary needs of a system: certificates, a user, and folders that this user may write.
FROM debian:12-slim AS system
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates tzdata \
    && install -D -m 0644 -t /image/etc/ssl/certs /etc/ssl/certs/ca-certificates.crt \
    && mkdir -p /image/usr/share && cp -a /usr/share/zoneinfo /image/usr/share/ \
    && echo 'mcp-proxy:x:1000:1000::/home/proxy:/sbin/nologin' > /image/etc/passwd \
    && echo 'mcp-proxy:x:1000:' > /image/etc/group \
    && install -d -o 1000 -g 1000 /image/home/proxy && install -d -m 1777 /image/tmp

FROM python:3.12-slim-bookworm AS uv
RUN pip install --no-cache-dir --target /uv uv

# Servers that `npx` or `uvx` start run here.
FROM node:22-bookworm-slim AS full
LABEL io.modelcontextprotocol.server.name="com.example.owner/starlark-mcp-proxy"
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates git python3 \
    && rm -rf /var/lib/apt/lists/* && install -d -o 1000 -g 1000 /home/proxy
COPY --from=build /image/ /
COPY --from=uv /uv/bin/uv /uv/bin/uvx /usr/local/bin/
# A number, because Kubernetes does not know whether a name is root's.
USER 1000:1000
ENV HOME=/home/proxy PROXY_CONFIG=/etc/proxy/proxy.yaml
WORKDIR /home/proxy
EXPOSE 7331
HEALTHCHECK --start-period=5m CMD ["proxy", "status", "--ready"]
ENTRYPOINT ["proxy"]
CMD ["serve", "--http", "0.0.0.0:7331"]

# The default: no shell and no programs beside the proxy.
FROM scratch AS static
LABEL io.modelcontextprotocol.server.name="com.example.owner/starlark-mcp-proxy"
COPY --from=system /image/ /
COPY --from=build /image/ /
USER 1000:1000
ENV HOME=/home/proxy PROXY_CONFIG=/etc/proxy/proxy.yaml PATH=/usr/local/bin
WORKDIR /home/proxy
EXPOSE 7331
HEALTHCHECK --start-period=30s CMD ["proxy", "status", "--ready"]
ENTRYPOINT ["proxy"]
CMD ["serve", "--http", "0.0.0.0:7331"]
