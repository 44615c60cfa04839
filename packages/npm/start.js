#!/usr/bin/env node
// Starts the binary that npm has installed for this platform, as a package of its own.
"use strict";

const { spawn } = require("child_process");
const { constants } = require("os");
const path = require("path");

const { name, version, optionalDependencies } = require("./package.json");

function fail(problem, hint) {
  process.stderr.write(`error: ${problem}\nhint: ${hint}\n`);
  process.exit(1);
}

// The package of this platform.
function binaryPackage() {
  const wanted = `${name}-${process.platform}-${process.arch}`;
  if (!(wanted in optionalDependencies)) {
    fail(
      `${name} has no binary for ${process.platform} on ${process.arch}`,
      "on Windows use WSL; elsewhere build it from source with `cargo install --locked --path .` in a checkout",
    );
  }
  let manifest;
  try {
    manifest = require.resolve(`${wanted}/package.json`);
  } catch {
    fail(
      `the package ${wanted} is missing: npm was told to leave out optional packages`,
      `install it with \`npm install --include=optional ${name}\`; for npx, set npm_config_omit= in its environment`,
    );
  }
  const found = require(manifest).version;
  if (found !== version) {
    fail(
      `${wanted} has version ${found}, but ${name} has version ${version}`,
      `install both again with \`npm install ${name}@${version}\``,
    );
  }
  return path.join(path.dirname(manifest), "bin", "proxy");
}

const child = spawn(binaryPackage(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`cannot start the proxy: ${error.message}`, `install ${name} again`));
// The terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
for (const signal of ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => child.kill(signal));
}
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
