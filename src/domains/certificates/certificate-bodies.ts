import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed, INTEGER, NULLABLE_STRING, STRING } from '../../gateway/rest/schemas.ts';

/** Documented spelling of the enum, which is that of brokers. */
export const LISTENER_PROTOCOLS = { MQTT: 'mqtt', WEBSOCKET: 'mqtt+websockets', HTTP_API: 'http_api' } as const;

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
        'Only the certificate with this filename. With `brokerId` it must be deployed on that broker. The response is 404 if there is none.',
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
        description: 'Brokers on which the certificate is deployed.',
        items: closed({ id: STRING, name: STRING, ha: BOOLEAN }),
      },
    },
    { title: 'Certificate' },
  ),
};

const WRITTEN: Readonly<Record<string, JsonSchema>> = {
  name: { type: 'string', description: 'Name of the certificate. Default: the filename.' },
  filename: {
    type: 'string',
    minLength: 1,
    description: 'File name without a folder, unique in the project, at most 255 bytes.',
  },
  cert: {
    type: 'string',
    minLength: 10,
    description:
      'PEM: the certificate, followed by its chain. With its private key in the same text it is a server certificate, otherwise a certificate authority. The key is sealed when stored and never returned.',
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
  description: 'Missing fields stay unchanged.',
  examples: [{ name: EXAMPLE.name }],
});

const PORT: JsonSchema = { type: 'integer', minimum: 1, maximum: 65_535 };
const LISTENER_ADDRESS: Readonly<Record<string, JsonSchema>> = {
  port: PORT,
  bindAddress: { type: 'string', description: 'Required if several listeners use the port.' },
};

export const DEPLOYMENT: JsonSchema = closed(
  {
    brokers: {
      type: 'array',
      minItems: 1,
      items: closed({
        brokerId: STRING,
        listeners: { type: 'array', minItems: 1, items: closed(LISTENER_ADDRESS, { required: ['port'] }) },
      }),
    },
  },
  { title: 'CertificateDeployment', examples: [{ brokers: [{ brokerId: 'brk_…', listeners: [{ port: 8883 }] }] }] },
);

const LISTENER: Readonly<Record<string, JsonSchema>> = { port: INTEGER, bindAddress: STRING };

export const DEPLOYMENT_RESULTS: JsonSchema = {
  type: 'array',
  items: closed(
    {
      brokerId: STRING,
      error: { type: 'string', description: 'Why no listener of the broker was tried. Missing if they were tried.' },
      succeed: { type: 'array', items: closed(LISTENER, { required: ['port'] }) },
      failed: { type: 'array', items: closed({ ...LISTENER, error: STRING }, { required: ['port', 'error'] }) },
    },
    { required: ['brokerId', 'succeed', 'failed'], title: 'CertificateDeploymentResult' },
  ),
};

export const LISTENERS: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: { type: ['integer', 'null'], description: 'Null if the broker reports no id.' },
      port: { ...INTEGER, description: '0 for a Unix domain socket.' },
      bindAddress: { ...NULLABLE_STRING, description: 'Null for all addresses, and for a Unix domain socket.' },
      socketPath: { ...NULLABLE_STRING, description: 'Path of a Unix domain socket. Null for TCP.' },
      tls: BOOLEAN,
      protocol: {
        type: ['string', 'null'],
        enum: [...Object.values(LISTENER_PROTOCOLS), null],
        description: 'Null if the broker reports another one.',
      },
      requireCertificate: { type: ['boolean', 'null'], description: 'Null if the broker does not report it.' },
      certs: {
        type: 'array',
        description: 'Certificates of this service that are deployed on the listener.',
        items: closed({ certificate_id: STRING, name: STRING, filename: STRING }),
      },
    },
    { title: 'Listener' },
  ),
};
