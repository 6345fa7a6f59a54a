/** An API server, and how it is called. */

/** What a request shows of itself. */
export interface Credentials {
  readonly authorization?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface KubeTarget {
  readonly server: URL;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  /** Asked at each request, since tokens change. */
  credentials(): Promise<Credentials>;
  /** The server refused the credentials: the next ones are to be new. */
  refused(): void;
}
