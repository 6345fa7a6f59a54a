import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { ResourceMapError } from '../../functions/core/errors.ts';
import { acceptsGzip, requestFormat, responseFormat } from '../../functions/http/media-type.ts';

/** What the functions say of a request with one header, or the message of what they throw. */
async function ask<T extends object | string | boolean>(
  question: (c: Parameters<typeof requestFormat>[0]) => T,
  name: string,
  value: string | undefined,
): Promise<unknown> {
  const app = new Hono();
  app.get('/', (c) => c.json({ said: question(c) }));
  app.onError((error, c) =>
    c.json({ said: error instanceof ResourceMapError ? error.message : String(error) }),
  );
  const response = await app.request('/', value === undefined ? {} : { headers: { [name]: value } });
  return ((await response.json()) as { said: unknown }).said;
}

describe('the format of a response', () => {
  it.each([
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/x-protobuf', 'application/x-protobuf'],
    ['application/protobuf', 'application/protobuf'],
    ['Application/X-Protobuf', 'application/x-protobuf'],
    ['text/html, application/x-protobuf;q=0.5, application/json;q=0.4', 'application/x-protobuf'],
    ['application/json;q=0.2, application/protobuf', 'application/protobuf'],
    ['text/html, */*;q=0.1', 'application/json'],
    ['application/json;q=0, */*', 'application/x-protobuf'],
  ])('for Accept: %s is %s', async (accept, contentType) => {
    expect(await ask(responseFormat, 'accept', accept)).toMatchObject({ contentType });
  });

  it.each(['text/html', 'application/json;q=0', 'application/xml, text/*'])(
    'for Accept: %s is refused',
    async (accept) => {
      expect(await ask(responseFormat, 'accept', accept)).toBe(
        `[not_acceptable] The Accept header ${JSON.stringify(accept)} names none of ` +
          'application/x-protobuf, application/protobuf, application/json.',
      );
    },
  );
});

describe('the format of a request', () => {
  it.each([
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['APPLICATION/JSON', 'json'],
    ['application/x-protobuf', 'protobuf'],
    ['application/protobuf;proto=x', 'protobuf'],
  ])('of Content-Type: %s is %s', async (type, format) => {
    expect(await ask(requestFormat, 'content-type', type)).toBe(format);
  });

  it.each([
    [undefined, 'The request has no Content-Type'],
    ['text/plain', 'The Content-Type is "text/plain"'],
    ['application/jsonp', 'The Content-Type is "application/jsonp"'],
  ])('of Content-Type: %s is refused', async (type, what) => {
    expect(await ask(requestFormat, 'content-type', type)).toBe(
      `[unsupported_media_type] ${what}; send one of application/x-protobuf, application/protobuf, application/json.`,
    );
  });
});

describe('gzip', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['br, gzip;q=0.1', true],
    ['*', true],
    ['identity', false],
    ['gzip;q=0', false],
    ['gzip;q=0, *', false],
    ['*;q=0', false],
  ])('with Accept-Encoding: %s is taken: %s', async (encoding, taken) => {
    expect(await ask(acceptsGzip, 'accept-encoding', encoding)).toBe(taken);
  });
});
