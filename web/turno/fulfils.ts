// Makes tsc check that the module has the public types that ../turno.d.ts declares. It is never run.

import type * as declared from '../turno.js';
import * as module from './index.js';

export const fulfils: typeof declared = module;
