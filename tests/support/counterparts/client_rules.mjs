// What clients, and the APIs behind them, refuse of a list of tools: their rules, written down apart from the proxy's table.

const nested = (schema, visit, at = "") => {
  if (typeof schema !== "object" || schema === null) return;
  visit(schema, at);
  for (const [keyword, value] of Object.entries(schema)) {
    if (["properties", "$defs", "definitions", "patternProperties"].includes(keyword)) {
      for (const [key, property] of Object.entries(value)) nested(property, visit, `${at}/${keyword}/${key}`);
    } else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword)) {
      value.forEach((part, index) => nested(part, visit, `${at}/${keyword}/${index}`));
    } else if (["items", "additionalProperties", "not"].includes(keyword)) {
      nested(value, visit, `${at}/${keyword}`);
    }
  }
};

// What each client, or the API behind it, refuses.
const rulesOf = (check) => ({
  "claude-code": (tool) => {
    check(/^[a-zA-Z0-9_-]{1,64}$/.test(`mcp__proxy__${tool.name}`), `name: ${tool.name}`);
    for (const union of ["anyOf", "oneOf", "allOf"]) check(!(union in tool.inputSchema), `${tool.name}: ${union}`);
    for (const key of Object.keys(tool.inputSchema.properties ?? {})) {
      check(/^[a-zA-Z0-9_.-]{1,64}$/.test(key), `${tool.name}: property ${key}`);
    }
    check((tool.description ?? "").length <= 2048, `${tool.name}: description`);
  },
  "gemini-cli-mcp-client": (tool) => {
    check(/^[a-zA-Z_][a-zA-Z0-9_\-.:]{0,62}$/.test(`mcp_proxy_${tool.name}`), `name: ${tool.name}`);
    nested(tool.inputSchema, (schema, at) => {
      const refused = [
        "$ref", "$schema", "$id", "const", "if", "not", "patternProperties", "propertyNames", "dependentRequired",
        "exclusiveMinimum", "exclusiveMaximum",
      ];
      for (const keyword of refused) check(!(keyword in schema), `${tool.name}: ${at} has ${keyword}`);
      check(!Array.isArray(schema.type), `${tool.name}: ${at} has types`);
      check(schema.type !== "array" || typeof schema.items === "object", `${tool.name}: ${at} has no items`);
      check((schema.enum ?? []).every((value) => typeof value === "string"), `${tool.name}: ${at} has an enum`);
    });
  },
  "Visual Studio Code": (tool) => {
    check(`mcp_proxy_${tool.name}`.length <= 64, `name: ${tool.name}`);
    check(typeof tool.inputSchema.properties === "object", `${tool.name}: no properties`);
    nested(tool.inputSchema, (schema, at) => {
      check(schema.type !== "array" || schema.items, `${tool.name}: ${at}: tool parameters array type must have items`);
    });
  },
  "cursor-vscode": (tool) => {
    check(`proxy${tool.name}`.length <= 59, `name: ${tool.name}`);
  },
  "codex-mcp-client": (tool) => {
    check(`mcp__proxy__${tool.name}`.length <= 64, `name: ${tool.name}`);
    check(typeof tool.inputSchema.properties === "object", `${tool.name}: no properties`);
  },
});

const checkSchema = (name, tool, validators, check) => {
  for (const Validator of validators) {
    const ajv = new Validator({ strictSchema: false, logger: false });
    const isOfOther = tool.inputSchema.$schema !== undefined && !ajv.getSchema(tool.inputSchema.$schema.replace(/#$/, ""));
    if (isOfOther) continue;
    check(ajv.validateSchema(tool.inputSchema) === true, `${tool.name}: ${ajv.errorsText()}`);
    if (!name.startsWith("gemini")) continue;
    try { ajv.compile(tool.inputSchema); } catch (error) { check(false, `${tool.name}: ${error.message}`); }
  }
};

/**
 * The faults of a list for a client of this name. Gemini CLI compiles every schema with the given validators; the MCP SDK does
 * so for results.
 */
export const faultsOf = (name, tools, validators) => {
  const faults = [];
  const check = (holds, fault) => { if (!holds) faults.push(fault); };
  const rule = rulesOf(check)[name];
  for (const tool of tools) {
    checkSchema(name, tool, validators, check);
    rule(tool);
  }
  check(new Set(tools.map((tool) => tool.name)).size === tools.length, "two tools have one name");
  return faults;
};
