import './scalars.ts';
import '../users/user-schema.ts';
import '../users/organisation-schema.ts';
import '../projects/project-schema.ts';
import '../auth/viewer-schema.ts';
import '../tokens/token-schema.ts';
import '../brokers/broker-schema.ts';
import '../cloud-brokers/cloud-broker-schema.ts';
import '../brokers/broker-status-schema.ts';
import '../brokers/broker-metrics-schema.ts';
import '../clients/graph/client-schema.ts';
import '../clients/graph/client-lists-schema.ts';
import '../clients/graph/client-control-schema.ts';
import '../access-control/graph/access-control-schema.ts';
import '../access-control/graph/access-mutations-schema.ts';
import '../access-control/graph/access-bulk-schema.ts';
import '../access-control/graph/access-explain-schema.ts';
import '../access-control/graph/access-document-schema.ts';
import '../messages/message-schema.ts';
import '../streams/graph/stream-schema.ts';
import '../streams/graph/stream-mutations-schema.ts';
import '../streams/graph/stream-preview-schema.ts';
import '../streams/graph/stream-live-schema.ts';
import '../bridges/graph/bridge-schema.ts';
import '../bridges/graph/bridge-mutations-schema.ts';
import '../bridges/graph/bridge-live-schema.ts';
import '../certificates/graph/certificate-schema.ts';
import '../certificates/graph/certificate-mutations-schema.ts';
import '../certificates/graph/certificate-expiry-schema.ts';
import './node-schema.ts';
import type { GraphQLSchema } from 'graphql';
import { builder } from './builder.ts';

// Closed by default: a root field without a word about it needs a signed-in caller.
builder.queryType({ authScopes: { signedIn: true } });
builder.mutationType({ authScopes: { signedIn: true } });
builder.subscriptionType({ authScopes: { signedIn: true } });

export const schema: GraphQLSchema = builder.toSchema();
