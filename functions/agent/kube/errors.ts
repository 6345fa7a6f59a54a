/** What a request to an API server can fail with. */

/** The API server answered, and refused. */
export class KubeApiError extends Error {
  override readonly name = 'KubeApiError';
  readonly status: number;

  constructor(method: string, url: string, status: number, reason: string) {
    super(`${method} ${url}: ${status} ${reason}`);
    this.status = status;
  }

  /** The resource version asked for is no longer kept: only a new list helps. */
  get gone(): boolean {
    return this.status === 410;
  }

  /** There is no such kind, or this account may not see it. */
  get absent(): boolean {
    return this.status === 403 || this.status === 404 || this.status === 405;
  }
}

/** No whole response came from the API server. */
export class KubeConnectionError extends Error {
  override readonly name = 'KubeConnectionError';

  constructor(method: string, url: string, cause: unknown) {
    const { code, message } = (cause ?? {}) as { code?: string; message?: string };
    super(`${method} ${url}: ${message || code || String(cause)}`, { cause });
  }
}

/** The kubeconfig, or what it names, cannot be used. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}
