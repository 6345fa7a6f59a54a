/** Reads metrics as a scraper does. */

/** Value by series, the series as it is written. */
export async function scrape(
  url: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ readonly status: number; readonly contentType: string | null; readonly text: string }> {
  const response = await fetch(url + path, { headers });
  return {
    status: response.status,
    contentType: response.headers.get('content-type'),
    text: await response.text(),
  };
}

export function seriesOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const series = lines.map((line): [string, string] => {
    const space = line.lastIndexOf(' ');
    return [line.slice(0, space), line.slice(space + 1)];
  });
  const map = new Map(series);
  if (map.size !== series.length) throw new Error('A series is there twice.');
  return map;
}
