// Searches the built site as its pages do: the site's own elasticlunr, index and options.
//
//     node .ci/book/search.js ELASTICLUNR INDEX QUERY...
//
// Prints a JSON list: for each query, the addresses of the pages found, best first.
'use strict';

const path = require('node:path');

const [library, index, ...queries] = process.argv.slice(2);
const elasticlunr = require(path.resolve(library));
global.window = { search: {} };
require(path.resolve(index));
const { doc_urls: addresses, search_options: options, index: words } = window.search;
const loaded = elasticlunr.Index.load(words);
console.log(JSON.stringify(queries.map((query) => loaded.search(query, options).map((found) => addresses[found.ref]))));
