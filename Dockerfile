# The proxy in a container, serving HTTP:
#
#     docker build -t starlark-mcp-proxy .
#     docker run -p 127.0.0.1:7331:7331 -v "$PWD":/etc/proxy:ro -e TOKEN starlark-mcp-proxy
#
# The config is /etc/proxy/proxy.yaml. It needs `auth.tokens` or `auth.issuers`, because the proxy listens on all addresses:
#
#     auth: { tokens: [{ token: "${TOKEN}", sub: me }] }
#
# Authorizations for servers and the cache are below /home/proxy. To keep them, add `-v proxy-home:/home/proxy`.
# Servers that `npx` or `uvx` start need Node.js or uv: use an image that has them instead of debian:12-slim.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin proxy && .ci/notices

FROM debian:12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --home-dir /home/proxy --uid 1000 mcp-proxy
COPY --from=build /src/target/release/proxy /usr/local/bin/proxy
COPY --from=build /src/LICENSE /src/target/release/THIRD-PARTY-NOTICES.txt /usr/share/doc/starlark-mcp-proxy/
# Debian has a user `proxy` of its own.
USER mcp-proxy
WORKDIR /home/proxy
EXPOSE 7331
HEALTHCHECK --start-period=30s CMD ["proxy", "status", "--ready"]
ENTRYPOINT ["proxy"]
CMD ["serve", "--http", "0.0.0.0:7331", "--config", "/etc/proxy/proxy.yaml"]
