// Counts the tokens of texts: reads a JSON array of strings from the standard input, and prints one array of numbers for each
// encoding.

import { readFileSync } from "node:fs";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";

const texts = JSON.parse(readFileSync(0, "utf8"));
const plain = { disallowedSpecial: new Set() };
const count = (tokens) => texts.map((text) => tokens(text, plain));
console.log(JSON.stringify({ o200k_base: count(o200k), cl100k_base: count(cl100k) }));
