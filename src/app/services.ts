import type { AccessControlService } from '../domains/access-control/access-control-service.ts';
import type { AuditService } from '../domains/audit/audit-service.ts';
import type { BridgeService } from '../domains/bridges/bridge-service.ts';
import type { BrokerMetricsService } from '../domains/brokers/broker-metrics-service.ts';
import type { BrokerRuntimes } from '../domains/brokers/broker-runtimes.ts';
import type { BrokerService } from '../domains/brokers/broker-service.ts';
import type { CertificateService } from '../domains/certificates/certificate-service.ts';
import type { CertificateDeployer } from '../domains/certificates/deployment/certificate-deployer.ts';
import type { CertificateExpiry } from '../domains/certificates/expiry/certificate-expiry.ts';
import type { ListenerService } from '../domains/certificates/listener-service.ts';
import type { ClientService } from '../domains/clients/client-service.ts';
import type { ClientControlService } from '../domains/clients/control/client-control-service.ts';
import type { ClusterLive } from '../domains/clusters/cluster-live.ts';
import type { ClusterQueries } from '../domains/clusters/cluster-queries.ts';
import type { ClusterService } from '../domains/clusters/cluster-service.ts';
import type { MessageService } from '../domains/messages/message-service.ts';
import type { ProjectService } from '../domains/projects/project-service.ts';
import type { SecretRotator } from '../domains/secrets/secret-rotation.ts';
import type { SignInRuleService } from '../domains/sign-in/rules/sign-in-rule-service.ts';
import type { SignInService } from '../domains/sign-in/sign-in-service.ts';
import type { StreamService } from '../domains/streams/stream-service.ts';
import type { TokenService } from '../domains/tokens/token-service.ts';
import type { TopicService } from '../domains/topic-tree/topic-service.ts';
import type { OrganisationService } from '../domains/users/organisation-service.ts';
import type { UserService } from '../domains/users/user-service.ts';
import type { CloudBrokers } from '../engines/cloud-brokers/cloud-brokers.ts';
import type { AuthService } from '../platform/auth/auth-service.ts';

/** The services of all domains, as resolvers find them in the request context. The composition root creates them. */
declare module '../gateway/context.ts' {
  interface Services {
    readonly audit: AuditService;
    readonly secrets: SecretRotator;
    readonly auth: AuthService;
    readonly users: UserService;
    readonly organisations: OrganisationService;
    readonly signIn: SignInService;
    readonly signInRules: SignInRuleService;
    readonly projects: ProjectService;
    readonly tokens: TokenService;
    readonly brokers: BrokerService;
    readonly cloudBrokers: CloudBrokers;
    readonly runtimes: BrokerRuntimes;
    readonly metrics: BrokerMetricsService;
    readonly certificates: CertificateService;
    readonly certificateDeployer: CertificateDeployer;
    readonly certificateExpiry: CertificateExpiry;
    readonly listeners: ListenerService;
    readonly clients: ClientService;
    readonly clientControl: ClientControlService;
    readonly messages: MessageService;
    readonly accessControl: AccessControlService;
    readonly streams: StreamService;
    readonly bridges: BridgeService;
    readonly topics: TopicService;
    readonly clusters: ClusterQueries;
    readonly clusterChanges: ClusterService;
    readonly clusterLive: ClusterLive;
  }
}
