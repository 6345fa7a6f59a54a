/** What the open routes answer, for the OpenAPI document. */
import type { Operations } from '../../openapi/operation.ts';

export const ABOUT_OPERATIONS = {
  'GET /': {
    id: 'listResources',
    tag: 'about',
    summary: 'List what there is',
    description:
      'The name of the service and the routes of its API. A client that prefers `text/html` gets the page for people.',
    responses: {
      200: {
        description: 'Name and routes.',
        body: {
          type: 'object',
          properties: {
            service: { const: 'resource-map' },
            resources: { type: 'array', items: { type: 'string', pattern: '^[A-Z]+ /' } },
          },
          required: ['service', 'resources'],
        },
        headers: ['Vary'],
      },
    },
    problems: [],
  },
  'GET /healthz': {
    id: 'getHealth',
    tag: 'about',
    summary: 'Ask whether the service is up',
    description: 'Says that requests are answered. The store is not asked.',
    responses: {
      200: {
        description: 'It is.',
        body: { type: 'object', properties: { status: { const: 'ok' } }, required: ['status'] },
      },
    },
    problems: [],
  },
  'GET /livez': {
    id: 'getLiveness',
    tag: 'about',
    summary: 'Ask whether the process responds',
    description:
      'The same as `GET /healthz`, under the name that Kubernetes made common. The local process and the container ' +
      'also have `GET /readyz`, which asks the store and gives 503 (`store_unavailable`) while it cannot be reached.',
    responses: {
      200: {
        description: 'It does.',
        body: { type: 'object', properties: { status: { const: 'ok' } }, required: ['status'] },
      },
    },
    problems: [],
  },
  'GET /version': {
    id: 'getVersion',
    tag: 'about',
    summary: 'Ask which version runs',
    description: 'The version of the service.',
    responses: {
      200: {
        description: 'The version.',
        body: {
          type: 'object',
          properties: { version: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+' } },
          required: ['version'],
        },
      },
    },
    problems: [],
  },
  'GET /openapi.json': {
    id: 'getOpenApi',
    tag: 'about',
    summary: 'Fetch this document',
    description: 'The description of the API in OpenAPI 3.1.',
    headers: ['IfNoneMatch'],
    responses: {
      200: {
        description: 'The document.',
        body: {
          type: 'object',
          properties: { openapi: { const: '3.1.0' }, info: { type: 'object' }, paths: { type: 'object' } },
          required: ['openapi', 'info', 'paths'],
        },
        headers: ['Cache-Control', 'ETag'],
      },
      304: { description: 'What the client has is still current.', headers: ['Cache-Control', 'ETag'] },
    },
    problems: [],
  },
} as const satisfies Operations;
