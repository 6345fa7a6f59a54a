/**
 * The Lambda functions there are: what each is built from, what it may use and do. Bundling,
 * the stack and the tests all walk this table, so that none of them can forget one.
 */

/** The name of a function, wherever one is needed. */
export type FunctionName = keyof typeof FUNCTIONS;

/** A table of {@link Data}. */
export type TableName = 'heads' | 'bodies' | 'trust' | 'pools' | 'claims' | 'bundles';

export interface FunctionDefinition {
  /** The file that exports `handler`, from the root of the project. */
  readonly entry: string;
  /** What the console shows beside its name. */
  readonly description: string;
  /** Megabytes; Lambda gives CPU in proportion, one whole core at 1,769. */
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  /** The actions on each table that its code calls, and no others; a test compares them with what it calls. */
  readonly tableActions: Readonly<Partial<Record<TableName, readonly string[]>>>;
}

/** Beyond this API Gateway has given up on an HTTP API's integration, and nobody reads the answer. */
const HTTP_TIMEOUT_SECONDS = 29;

/** One whole core: what decodes and deflates is no cheaper on half of one, only later. */
const ONE_CORE_MB = 1_769;

export const FUNCTIONS = {
  push: {
    entry: 'functions/lambdas/push/handler.ts',
    description: 'Accepts pushes from agents',
    // The largest snapshot that may come, 64 MB inflated, becomes some ten times that as objects.
    memoryMb: ONE_CORE_MB,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {
      heads: ['dynamodb:GetItem', 'dynamodb:PutItem'],
      bodies: ['dynamodb:BatchGetItem', 'dynamodb:PutItem'],
      trust: ['dynamodb:GetItem'],
    },
  },
  map: {
    entry: 'functions/lambdas/map/handler.ts',
    description: 'Serves the map and the status of each cluster',
    // Bodies are kept between requests, and an answer is spliced from them in memory.
    memoryMb: ONE_CORE_MB,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {
      heads: ['dynamodb:GetItem', 'dynamodb:Query'],
      bodies: ['dynamodb:BatchGetItem'],
      trust: ['dynamodb:GetItem'],
    },
  },
  wait: {
    entry: 'functions/lambdas/map/wait-handler.ts',
    description: 'Holds responses for who waits until the map changes',
    memoryMb: ONE_CORE_MB,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {
      heads: ['dynamodb:GetItem', 'dynamodb:Query'],
      bodies: ['dynamodb:BatchGetItem'],
      trust: ['dynamodb:GetItem'],
    },
  },
  plan: {
    entry: 'functions/lambdas/plan/handler.ts',
    description: 'Capacity, fit and bundle planning API',
    // Packing is bounded work on one core; views of snapshots are kept between requests.
    memoryMb: ONE_CORE_MB,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {
      heads: ['dynamodb:GetItem', 'dynamodb:Query'],
      bodies: ['dynamodb:BatchGetItem'],
      trust: ['dynamodb:GetItem'],
      pools: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
      claims: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem'],
      bundles: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
    },
  },
  notify: {
    entry: 'functions/lambdas/notify/handler.ts',
    description: 'Publishes change events from the stream of the heads',
    // It waits for EventBridge; 100 heads of a kilobyte are nothing.
    memoryMb: 512,
    // Ten calls of ten events, each tried four times, with room.
    timeoutSeconds: 60,
    // Models that a head has no room for.
    tableActions: { bodies: ['dynamodb:BatchGetItem'] },
  },
  expire: {
    entry: 'functions/lambdas/expire/handler.ts',
    description: 'Omits silent clusters, and retires those that stay omitted',
    // Ten thousand heads are some 20 MB as objects.
    memoryMb: 512,
    // Ten thousand retirements, two writes each, take half of it; the next sweep goes on where this one ended.
    timeoutSeconds: 120,
    tableActions: {
      heads: ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:Query'],
    },
  },
  sweep: {
    entry: 'functions/lambdas/sweep/handler.ts',
    description: 'Writes down which claims have ended',
    // Contents are decoded as in plan, but only where claims are live.
    memoryMb: ONE_CORE_MB,
    timeoutSeconds: 120,
    tableActions: {
      heads: ['dynamodb:GetItem'],
      bodies: ['dynamodb:BatchGetItem'],
      claims: ['dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
    },
  },
  access: {
    entry: 'functions/lambdas/access/handler.ts',
    description: 'Manages registrations and tokens',
    // A few calls a day, of people.
    memoryMb: 512,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {
      trust: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:Query'],
    },
  },
  about: {
    entry: 'functions/lambdas/about/handler.ts',
    description: 'Says what the service is and that it is up',
    memoryMb: 256,
    timeoutSeconds: HTTP_TIMEOUT_SECONDS,
    tableActions: {},
  },
} as const satisfies Readonly<Record<string, FunctionDefinition>>;

export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as readonly FunctionName[];
