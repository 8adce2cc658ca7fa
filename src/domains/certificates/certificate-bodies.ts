import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NULLABLE_STRING, STRING } from '../../gateway/rest/schemas.ts';

/** Documented spellings of the graph's enum, as brokers tell it. */
export const LISTENER_PROTOCOLS = { MQTT: 'mqtt', WEBSOCKET: 'mqtt+websockets' } as const;

const MAX_TEXT = 65_535;

export const CERTIFICATES_QUERY: JsonSchema = {
  type: 'object',
  properties: {
    brokerId: {
      type: 'string',
      maxLength: MAX_TEXT,
      description: 'Only certificates that are deployed on this broker.',
    },
    filename: {
      type: 'string',
      maxLength: MAX_TEXT,
      description:
        'The certificate with this filename alone; with `brokerId` it must be deployed on that broker. 404 when there is none.',
    },
  },
};

export const CERTIFICATES: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: STRING,
      name: STRING,
      filename: STRING,
      brokers: {
        type: 'array',
        description: 'On which it is deployed.',
        items: closed({ id: STRING, name: STRING, ha: BOOLEAN }),
      },
    },
    { title: 'Certificate' },
  ),
};

const WRITTEN: Readonly<Record<string, JsonSchema>> = {
  name: { type: 'string', description: 'For people.' },
  filename: {
    type: 'string',
    minLength: 1,
    description: 'No other certificate of the project may have it; without a folder, 255 bytes at most.',
  },
  cert: {
    type: 'string',
    minLength: 10,
    description:
      'PEM: the certificate, then its chain. With the private key of the first one in it, it is the certificate of a server; without, that of an authority. The key is sealed when stored, and never answered.',
  },
};

const EXAMPLE = { name: 'Factory', filename: 'factory-ca.pem', cert: '-----BEGIN CERTIFICATE-----\n…' };

export const NEW_CERTIFICATE: JsonSchema = closed(WRITTEN, {
  required: ['filename', 'cert'],
  title: 'NewCertificate',
  examples: [EXAMPLE],
});

export const CERTIFICATE_CHANGE: JsonSchema = closed(WRITTEN, {
  required: [],
  title: 'CertificateChange',
  description: 'What is not given stays as it is.',
  examples: [{ name: EXAMPLE.name }],
});

const PORT: JsonSchema = { type: 'integer', minimum: 1, maximum: 65_535 };
const PLACE: Readonly<Record<string, JsonSchema>> = {
  port: PORT,
  bindAddress: { type: 'string', description: 'Needed where several listeners have the port.' },
};

export const DEPLOYMENT: JsonSchema = closed(
  {
    brokers: {
      type: 'array',
      minItems: 1,
      items: closed({
        brokerId: STRING,
        listeners: { type: 'array', minItems: 1, items: closed(PLACE, { required: ['port'] }) },
      }),
    },
  },
  { title: 'CertificateDeployment', examples: [{ brokers: [{ brokerId: 'brk_…', listeners: [{ port: 8883 }] }] }] },
);

const TOLD: Readonly<Record<string, JsonSchema>> = { port: INTEGER, bindAddress: STRING };

/** One for each broker that was asked for. */
export const DEPLOYMENT_RESULTS: JsonSchema = {
  type: 'array',
  items: closed(
    {
      brokerId: STRING,
      error: { type: 'string', description: 'Why none of its listeners was tried; left out: they were.' },
      succeed: { type: 'array', items: closed(TOLD, { required: ['port'] }) },
      failed: { type: 'array', items: closed({ ...TOLD, error: STRING }, { required: ['port', 'error'] }) },
    },
    { required: ['brokerId', 'succeed', 'failed'], title: 'CertificateDeploymentResult' },
  ),
};

export const LISTENERS: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: { type: ['integer', 'null'], description: 'Null where the broker gives none.' },
      port: INTEGER,
      bindAddress: { ...NULLABLE_STRING, description: 'Null: all addresses.' },
      tls: BOOLEAN,
      protocol: { type: 'string', enum: Object.values(LISTENER_PROTOCOLS) },
      requireCertificate: { type: ['boolean', 'null'], description: 'Null where the broker does not say.' },
      certs: {
        type: 'array',
        description: 'Those of this service that are deployed there.',
        items: closed({ certificate_id: STRING, name: STRING, filename: STRING }),
      },
    },
    { title: 'Listener' },
  ),
};
