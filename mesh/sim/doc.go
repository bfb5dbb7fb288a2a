// Package sim is deterministic simulation.
package sim
