import { BlockList } from 'node:net';

import type { Manifest } from './manifest.js';

/** What speaks or is spoken to: a pod, or an address outside the cluster. */
export type Peer = { labels: Record<string, string>; namespace: string } | { address: string };

interface Selector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}
interface PolicyPeer {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
}
interface Rule {
  ports?: { port: number; protocol: string }[];
  from?: PolicyPeer[];
  to?: PolicyPeer[];
}
interface Policy {
  podSelector: Selector;
  policyTypes: string[];
  ingress?: Rule[];
  egress?: Rule[];
}

/** Judges by the rules of networking.k8s.io/v1: what no policy selects is open, what one selects only does what one allows. */
export class NetworkReach {
  private readonly policies: { namespace: string; policy: Policy }[];

  constructor(objects: readonly Manifest[]) {
    this.policies = objects
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map(({ metadata, spec }) => ({ namespace: metadata.namespace ?? '', policy: spec as Policy }));
  }

  allows(from: Peer, to: Peer, port: number, protocol = 'TCP'): boolean {
    return this.passes('Egress', from, to, port, protocol) && this.passes('Ingress', to, from, port, protocol);
  }

  private passes(type: 'Ingress' | 'Egress', subject: Peer, other: Peer, port: number, protocol: string): boolean {
    if ('address' in subject) return true;
    const selecting = this.policies.filter(
      ({ namespace, policy }) =>
        namespace === subject.namespace &&
        policy.policyTypes.includes(type) &&
        matches(policy.podSelector, subject.labels),
    );
    if (selecting.length === 0) return true;
    return selecting.some(({ namespace, policy }) => {
      const rules = (type === 'Ingress' ? policy.ingress : policy.egress) ?? [];
      return rules.some((rule) => {
        const peers = type === 'Ingress' ? rule.from : rule.to;
        const onPort = rule.ports === undefined || rule.ports.some((p) => p.port === port && p.protocol === protocol);
        return onPort && (peers === undefined || peers.some((peer) => includes(peer, other, namespace)));
      });
    });
  }
}

function includes({ podSelector, namespaceSelector, ipBlock }: PolicyPeer, other: Peer, own: string): boolean {
  if ('address' in other) return ipBlock !== undefined && inBlock(ipBlock, other.address);
  if (ipBlock !== undefined) return false;
  const inNamespace =
    namespaceSelector === undefined
      ? other.namespace === own
      : matches(namespaceSelector, { 'kubernetes.io/metadata.name': other.namespace });
  return inNamespace && (podSelector === undefined || matches(podSelector, other.labels));
}

function inBlock({ cidr, except = [] }: { cidr: string; except?: string[] }, address: string): boolean {
  const contains = (range: string): boolean => {
    const [network = '', bits = '32'] = range.split('/');
    const list = new BlockList();
    list.addSubnet(network, Number(bits), network.includes(':') ? 'ipv6' : 'ipv4');
    return list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  };
  return contains(cidr) && !except.some(contains);
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      if (operator !== 'In') throw new Error(`the operator ${operator} is not known here`);
      return values.includes(labels[key] ?? '');
    })
  );
}
