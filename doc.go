// Package gantry holds the nouns and rules of a service that lifts repositories out of Git, Subversion, Mercurial and
// Team Foundation Version Control and lands them in Git. It does no I/O and imports only the standard library.
//
// Glossary, used everywhere in this module:
//
//   - account: a user or an organization; both share one name space of logins.
//   - origin: the system and address that a repository is imported from.
//   - import: the work of bringing one origin into one hosted repository, and its record.
//   - raw step: reading the origin completely, unmapped (status "importing").
//   - mapping: turning raw data, the author table, the layout and the large-file choice into commits and refs.
//   - pushing: moving the result into the hosted repository.
//   - generation: a number of an import's row that grows whenever somebody else may own it; writes carry it.
//   - principal: who makes a request, and what its credential allows.
package gantry
