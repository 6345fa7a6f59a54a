/** What the parts of an app share. */
import type { Hono } from 'hono';
import type { Principal } from '../auth/principal.ts';
import type { MemoryShare } from './memory-budget.ts';

/** Variables of a request. */
export interface AppEnv {
  Variables: {
    requestId: string;
    /** What the request holds of the process's memory; given back once it is answered. */
    memory: MemoryShare;
    principal: Principal;
  };
}

export type App = Hono<AppEnv>;
