/** Counts and gauges in Prometheus' text format. */

const HELP = {
  resource_map_agent_view_age_seconds: [
    'gauge',
    'Age of the view of the cluster: everything before that is in it.',
  ],
  resource_map_agent_live: ['gauge', 'Whether all lists are in and all watches are heard.'],
  resource_map_agent_leader: ['gauge', 'Whether this replica pushes.'],
  resource_map_agent_last_push_timestamp_seconds: ['gauge', 'When the service last accepted a snapshot.'],
  resource_map_agent_pushes_total: ['counter', 'Pushes by outcome.'],
  resource_map_agent_watch_restarts_total: ['counter', 'Watches that were opened again, by kind and reason.'],
  resource_map_agent_left_out: ['gauge', 'Objects that the last snapshot leaves out or counts otherwise.'],
} as const;

export type MetricName = keyof typeof HELP;

export class Metrics {
  readonly #values = new Map<MetricName, Map<string, number>>();

  set(name: MetricName, value: number): void {
    this.#values.set(name, new Map([['', value]]));
  }

  /** @param labels such as `outcome="published"`, of closed sets only */
  count(name: MetricName, labels: string): void {
    const series = this.#values.get(name) ?? new Map<string, number>();
    this.#values.set(name, series);
    series.set(labels, (series.get(labels) ?? 0) + 1);
  }

  render(): string {
    const lines: string[] = [];
    for (const [name, series] of [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [type, help] = HELP[name];
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const [labels, value] of [...series].sort(([a], [b]) => (a < b ? -1 : 1)))
        lines.push(`${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
    }
    return `${lines.join('\n')}\n`;
  }
}
