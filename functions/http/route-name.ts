/** Names of routes, as tables and documents have them. */

/** Whether a route is part of the API: what only the local service has, the page, the metrics and the RPCs are not. */
export function isApiRoute(name: string): boolean {
  return !/ \/(resourcemap\.|local\/|ui|metrics|readyz$)/.test(name);
}

/** The method and the path as a caller writes it: `GET /v1/clusters/{id}`, without the pattern of the parameter. */
export function routeName({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.replace(/:(\w+)(?:\{(?:[^{}]|\{[^{}]*\})*\})?/g, '{$1}')}`;
}
