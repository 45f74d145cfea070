// Finds the packages of the clients, which are in a cache folder and not beside these scripts.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.INTEROP_MODULES}/anchor.js`);

export const load = (name) => import(pathToFileURL(require.resolve(name)).href);
