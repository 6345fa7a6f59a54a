/**
 * The Lambda functions there are. Bundling, the stack and the tests all walk this table, so
 * that none of them can forget one.
 */

/** The folder of a function under `functions/`, and its name wherever one is needed. */
export type FunctionName = keyof typeof FUNCTION_ENTRIES;

/** The file of each that exports `handler`, from the root of the project. */
export const FUNCTION_ENTRIES = {
  push: 'functions/push/handler.ts',
  map: 'functions/map/handler.ts',
} as const;

export const FUNCTION_NAMES = Object.keys(FUNCTION_ENTRIES) as readonly FunctionName[];
