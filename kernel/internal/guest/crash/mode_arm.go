//go:build arm

package main

// Each of these makes the kernel's mode fault in its own way.
func kernelData()
func kernelFetch()
func kernelUndefined()
func kernelCall()
func kernelStack()
