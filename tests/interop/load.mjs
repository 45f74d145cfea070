// Loads the packages of the clients from the cache folder: they are not next to these scripts.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.INTEROP_MODULES}/anchor.js`);

export const load = (name) => import(pathToFileURL(require.resolve(name)).href);
