/** dynalite ships no types; these are of what we use. */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  interface DynaliteOptions {
    readonly path?: string;
    readonly createTableMs?: number;
    readonly deleteTableMs?: number;
    readonly updateTableMs?: number;
    /** Kilobytes; DynamoDB has 400. */
    readonly maxItemSizeKb?: number;
  }

  export default function dynalite(options?: DynaliteOptions): Server;
}
