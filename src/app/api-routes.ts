import { accessControlRoutes } from '../domains/access-control/access-control-routes.ts';
import { bridgeRoutes } from '../domains/bridges/bridge-routes.ts';
import { brokerRoutes } from '../domains/brokers/broker-routes.ts';
import { certificateRoutes } from '../domains/certificates/certificate-routes.ts';
import { clientRoutes } from '../domains/clients/client-routes.ts';
import { clusterRoutes } from '../domains/clusters/cluster-routes.ts';
import { problemRoutes } from '../domains/problems/problem-routes.ts';
import { projectRoutes } from '../domains/projects/project-routes.ts';
import { signInRuleRoutes } from '../domains/sign-in/rules/sign-in-rule-routes.ts';
import { streamRoutes } from '../domains/streams/stream-routes.ts';
import { tokenRoutes } from '../domains/tokens/token-routes.ts';
import { topicRoutes } from '../domains/topic-tree/topic-routes.ts';
import { userRoutes } from '../domains/users/user-routes.ts';
import type { Route } from '../gateway/rest/route.ts';

/** Every entry of the REST interface. */
export const apiRoutes: readonly Route[] = [
  ...projectRoutes,
  ...problemRoutes,
  ...brokerRoutes,
  ...bridgeRoutes,
  ...certificateRoutes,
  ...clusterRoutes,
  ...clientRoutes,
  ...accessControlRoutes,
  ...streamRoutes,
  ...topicRoutes,
  ...tokenRoutes,
  ...userRoutes,
  ...signInRuleRoutes,
];
