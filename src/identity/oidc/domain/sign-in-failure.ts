/** Why nobody was signed in, or nothing confirmed or linked: `error=` of the address that people come back to. Stable; docs/identity.md has a sentence for each. */
export type SignInFailure =
  // on the way
  | 'sign_in_cancelled'
  | 'sign_in_expired'
  | 'sign_in_replayed'
  | 'other_browser'
  // of the provider
  | 'wrong_issuer'
  | 'provider_refused'
  | 'provider_unavailable'
  | 'answer_invalid'
  | 'clocks_differ'
  // of this service
  | 'busy'
  | 'too_many_requests'
  // of the person
  | 'subject_invalid'
  | 'name_missing'
  | 'name_invalid'
  | 'name_taken'
  | 'account_missing'
  | 'account_deactivated'
  // of a confirmation
  | 'other_person'
  | 'not_signed_in_anew'
  | 'session_ended'
  // of a link
  | 'already_linked'
  | 'person_linked';
