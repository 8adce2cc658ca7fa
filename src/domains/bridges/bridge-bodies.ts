import type { JsonSchema } from '../../gateway/rest/route.ts';
import { BOOLEAN, closed } from '../../gateway/rest/schemas.ts';

export const BRIDGES: JsonSchema = {
  type: 'array',
  items: closed(
    {
      id: { type: 'string', description: 'Such as `mqtt-bridge`.' },
      isActive: { ...BOOLEAN, description: 'Whether it is configured.' },
    },
    { title: 'Bridge' },
  ),
};

export const BRIDGE_CONFIG: JsonSchema = {
  type: 'object',
  title: 'BridgeConfig',
  description: 'As the schema of the bridge describes. `***` replaces each secret; sent back, it keeps the stored one.',
  examples: [
    {
      connections: [
        {
          name: 'headquarters',
          url: 'mqtts://broker.example.com:8883',
          username: 'plant',
          password: 'a password',
          topics: [{ pattern: 'plant/#', direction: 'out', qos: 1 }],
        },
      ],
    },
  ],
};

export const BRIDGE_STATUS: JsonSchema = {
  type: ['array', 'object'],
  title: 'BridgeStatus',
  description:
    'As the bridge reports it: usually one entry for each connection, with `connectionName` and `isConnected`.',
};
