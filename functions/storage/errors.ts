/** Errors of the store. None of them says anything of tables or keys to a caller. */
import { ResourceMapError } from '../core/errors.ts';
import type { Head } from './head.ts';

/** The head changed between our read and our write; the one that is there now is carried along where the engine returned it. */
export class HeadConflictError extends Error {
  override readonly name = 'HeadConflictError';

  constructor(
    readonly clusterId: string,
    readonly current: Head | undefined,
    options?: ErrorOptions,
  ) {
    super(`The head of cluster ${JSON.stringify(clusterId)} is no longer the one that was read.`, options);
  }
}

/**
 * A retired mark stands above the head that was to be retired, which our own writes cannot
 * bring about: the table was edited, or restored in part.
 */
export class TombstoneError extends Error {
  override readonly name = 'RetiredMarkError';

  constructor(
    readonly clusterId: string,
    highWater: bigint,
    options?: ErrorOptions,
  ) {
    super(
      `A retired mark of cluster ${JSON.stringify(clusterId)} is above ${highWater}, the mark of its head; ` +
        'the head stays. Raise its mark to the retired one.',
      options,
    );
  }
}

/** Others kept writing the same cluster for as long as we tried. */
export class ContentionError extends ResourceMapError {
  override readonly name = 'ContentionError';

  constructor(clusterId: string, attempts: number) {
    super(
      'contention',
      `Cluster ${JSON.stringify(clusterId)} was written by others during all ${attempts} attempts; send the push again. ` +
        'Where several agents push one cluster, leave one of them.',
      { retryAfterSeconds: 1 },
    );
  }
}

/** DynamoDB did not take or give what was asked, after all retries. */
export class StoreUnavailableError extends ResourceMapError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown) {
    super(
      'store_unavailable',
      'The store does not answer at the moment. Send the request again; the same push again is a success, whether or not it was stored.',
      {
        retryAfterSeconds: 2,
      },
      { cause },
    );
  }
}

/** No such cluster was ever pushed, or it was retired long ago. */
export class ClusterNotFoundError extends ResourceMapError {
  override readonly name = 'ClusterNotFoundError';

  constructor(clusterId: string) {
    super(
      'cluster_not_found',
      `No cluster ${JSON.stringify(clusterId)} is known; GET /v1/clusters lists those that are. ` +
        'In the URL an id is percent-encoded, its slashes too.',
      { field: 'cluster', value: clusterId },
    );
  }
}
