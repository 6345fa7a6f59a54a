/**
 * Whether the process can serve: it asks the store. For what runs the process (Kubernetes, a load
 * balancer); a Lambda function is never asked, since nothing takes it out of a rotation.
 */
import { ResourceMapError } from '../core/errors.ts';
import type { App } from '../http/app-env.ts';
import type { Store } from '../storage/commit.ts';

/** Of no cluster: ids have no control characters. One read unit finds that it is not there. */
const NO_CLUSTER = '\u0000ready';

/** Milliseconds in which the store must answer: probes give up after as long. */
const TIMEOUT_MS = 2_000;

export function readinessRoute(app: App, store: Pick<Store, 'heads'>): void {
  app.get('/readyz', async (c) => {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const late = new Promise<never>((_, reject) => {
      timeout.addEventListener('abort', () =>
        reject(new Error(`The store gave no response within ${TIMEOUT_MS} ms.`)),
      );
    });
    try {
      await Promise.race([store.heads.read(NO_CLUSTER), late]);
    } catch (cause) {
      throw new ResourceMapError(
        'store_unavailable',
        'The store cannot be reached, so nothing can be served.',
        {},
        { cause },
      );
    }
    return c.json({ status: 'ok' });
  });
}
