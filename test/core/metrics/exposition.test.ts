import { describe, expect, it } from 'vitest';
import { exposition, type MetricFamily } from '../../../functions/core/metrics/exposition.ts';

const FAMILIES: readonly MetricFamily[] = [
  { name: 'map_info', help: 'Who "it" is.', type: 'info', samples: [{ labels: { version: '1' }, value: 1 }] },
  {
    name: 'map_free',
    help: 'A \\ and\na line.',
    type: 'gauge',
    samples: [
      { labels: { id: 'a"b\\c\nd', model: '' }, value: 18_446_744_073_709_551_615n },
      { labels: {}, value: 0.5 },
    ],
  },
  { name: 'map_none', help: 'Nothing.', type: 'gauge', samples: [] },
];

describe('Metrics as text', () => {
  it('are in the format of Prometheus, names and values escaped', () => {
    expect(exposition(FAMILIES, 'prometheus')).toBe(
      [
        '# HELP map_info Who "it" is.',
        '# TYPE map_info gauge',
        'map_info{version="1"} 1',
        '# HELP map_free A \\\\ and\\na line.',
        '# TYPE map_free gauge',
        'map_free{id="a\\"b\\\\c\\nd",model=""} 18446744073709551615',
        'map_free 0.5',
        '# HELP map_none Nothing.',
        '# TYPE map_none gauge',
        '',
      ].join('\n'),
    );
  });

  it('are in OpenMetrics, which names an info without its suffix and has an end', () => {
    const text = exposition(FAMILIES, 'openmetrics');
    expect(text.split('\n').slice(0, 3)).toEqual([
      '# HELP map Who \\"it\\" is.',
      '# TYPE map info',
      'map_info{version="1"} 1',
    ]);
    expect(text.endsWith('# TYPE map_none gauge\n# EOF\n')).toBe(true);
  });
});
