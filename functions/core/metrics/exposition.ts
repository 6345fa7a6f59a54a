/**
 * Metrics as text, in the two formats that Prometheus scrapes.
 *
 * Sources: the exposition formats of Prometheus (version 0.0.4) and of OpenMetrics 1.0.0.
 */

export type ExpositionFormat = 'prometheus' | 'openmetrics';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | bigint;
}

/** All series of one name. An `info` has the value 1 always, and a name that ends in `_info`. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'info';
  readonly samples: Iterable<Sample>;
}

/** The families one after the other; one without samples is described all the same. */
export function exposition(families: Iterable<MetricFamily>, format: ExpositionFormat): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of families) {
    // OpenMetrics names an info without its suffix; the older format does not know the type.
    const described = format === 'openmetrics' && type === 'info' ? name.replace(/_info$/, '') : name;
    lines.push(`# HELP ${described} ${escapeHelp(help, format)}`);
    lines.push(`# TYPE ${described} ${format === 'openmetrics' ? type : 'gauge'}`);
    for (const { labels, value } of samples) lines.push(`${name}${labelText(labels)} ${value}`);
  }
  if (format === 'openmetrics') lines.push('# EOF');
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };

function escapeLabel(value: string): string {
  return value.replace(/[\\"\n]/g, (c) => ESCAPES[c] ?? c);
}

/** A quote stands for itself in the older format's help. */
function escapeHelp(help: string, format: ExpositionFormat): string {
  return help.replace(format === 'openmetrics' ? /[\\"\n]/g : /[\\\n]/g, (c) => ESCAPES[c] ?? c);
}
