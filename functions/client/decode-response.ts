/** Reads the message that a response is, or says that something else answered: a proxy's page is no empty list. */
import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { UnexpectedResponseError } from './errors.ts';
import type { HttpRequest, HttpResponse } from './transport.ts';

export const PROTOBUF = 'application/x-protobuf';

/** @throws UnexpectedResponseError */
export function decodeResponse<D extends DescMessage>(
  schema: D,
  request: HttpRequest,
  response: HttpResponse,
): MessageShape<D> {
  const type = response.headers.get('content-type')?.split(';', 1)[0] ?? 'absent';
  if (type !== PROTOBUF) {
    throw new UnexpectedResponseError(
      request.method,
      response.url,
      `the Content-Type is ${type}, not ${PROTOBUF}`,
    );
  }
  try {
    return fromBinary(schema, response.body);
  } catch (cause) {
    throw new UnexpectedResponseError(request.method, response.url, `the body is no ${schema.typeName}`, {
      cause,
    });
  }
}
